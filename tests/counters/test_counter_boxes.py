"""NMS, the group filter and the image's edge, on boxes made by hand; and the tables of the docs."""

from pathlib import Path

import numpy as np
import pytest
import supervision as sv

from athena.counters import boxes, cases
from athena.errors import LoadError

PAGE = Path(__file__).parents[2] / "docs" / "counters.md"


def found(*xyxy, labels=None, confidence=None):
    n = len(xyxy)
    return sv.Detections(
        xyxy=np.array(xyxy, dtype=np.float32).reshape(-1, 4),
        confidence=np.array(confidence or np.linspace(0.9, 0.5, n), dtype=np.float32),
        class_id=np.array(labels or [0] * n, dtype=int),
        data={"class_name": np.array(["apple"] * n, dtype=str)},
    )


A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)
AROUND = (0, 0, 50, 10)


def test_nms_keeps_the_surer_of_two():
    kept = boxes.drop_duplicates(found((0, 0, 10, 10), (0, 0, 10, 11), confidence=[0.4, 0.6]))
    assert kept.confidence.tolist() == pytest.approx([0.6])


def test_nms_knows_labels():
    assert len(boxes.drop_duplicates(found(A, A, labels=[0, 1]))) == 2
    assert len(boxes.drop_duplicates(found(A, A, labels=[1, 1]))) == 1


@pytest.mark.parametrize(("iou", "kept"), [(0.0, 1), (0.7, 1), (0.9, 2), (1.0, 2)])
def test_nms_at_another_iou(iou, kept):
    assert len(boxes.drop_duplicates(found((0, 0, 10, 10), (1, 0, 11, 10)), iou)) == kept


def test_a_group_is_dropped():
    assert len(boxes.drop_groups(found(AROUND, A, B, C))) == 3
    assert len(boxes.drop_groups(found(A, B, AROUND))) == 2


def test_one_box_inside_is_no_group():
    assert len(boxes.drop_groups(found(AROUND, A))) == 2
    assert len(boxes.drop_groups(found(AROUND, A, (100, 100, 110, 110)))) == 3


def test_boxes_of_another_label_make_no_group():
    assert len(boxes.drop_groups(found(AROUND, A, B, labels=[0, 1, 1]))) == 3
    assert len(boxes.drop_groups(found(AROUND, A, B, labels=[1, 1, 1]))) == 2


def test_one_thing_seen_three_times_is_no_group():
    assert len(boxes.drop_groups(found(A, A, A))) == 3
    assert len(boxes.drop_groups(found(A, (0, 0, 10, 10.5), (0, 0, 10.5, 10)))) == 3


def test_nine_tenths_inside_is_inside():
    def holds(x):
        return len(boxes.drop_groups(found(AROUND, B, (x, 0, x + 10, 10)))) == 2

    assert holds(41) and not holds(41.2)


def test_groups_inside_groups():
    assert boxes.drop_groups(found(A, B, C, (0, 0, 30, 10), AROUND)).xyxy.tolist() == [[*A], [*B], [*C]]


@pytest.mark.parametrize(
    "change", [boxes.drop_duplicates, boxes.drop_groups, lambda x: boxes.within(x, (9, 9))]
)
def test_no_box_at_all(change):
    assert len(change(found())) == 0


def test_many_boxes():
    grid = [(x, y, x + 8, y + 8) for x in range(0, 300, 10) for y in range(0, 300, 10)]
    assert len(boxes.drop_groups(boxes.drop_duplicates(found(*grid, (0, 0, 300, 300))))) == 900


def test_boxes_are_cut_at_the_edge():
    kept = boxes.within(
        found((-5, -5.5, 5, 5), (95, 45, 200, 200), (120, 0, 130, 10), (3, 3, 3, 9)), (100, 50)
    )
    assert kept.xyxy.tolist() == [[0, 0, 5, 5], [95, 45, 100, 50]]
    assert kept.data["class_name"].tolist() == ["apple", "apple"]


def test_what_comes_in_is_left_alone():
    given = found((-5, 0, 5, 5), AROUND, A, B)
    before = given.xyxy.copy()
    boxes.within(given, (20, 20)), boxes.drop_groups(given), boxes.drop_duplicates(given)
    assert (given.xyxy == before).all()


# --- the docs


def test_the_tables_of_the_docs_are_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert cases.filled(text) == text, "python -m athena.counters.cases --write"


def test_the_ious_that_the_cases_name():
    for case in cases.CASES:
        if "IoU" in case.name:
            a, b = (np.array([box], dtype=float) for box in case.boxes)
            assert f"IoU {sv.box_iou_batch(a, b)[0, 0]:.2f}" in case.name


def test_writing_the_docs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="root of the repository"):
        cases.main(["--write"])
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "counters.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("**3**", "**4**"), encoding="utf-8")
    cases.main(["--write"])
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    cases.main([])
    assert "| group filter |" in capsys.readouterr().out
    with pytest.raises(LoadError, match="0 places"):
        cases.filled("no marks here")
