"""Settings of each mini family, tuned on prompts that no evaluation uses; written beside the weights as athena.json."""

from __future__ import annotations

from typing import Any

# t_est: estimate after so many of the steps; t_steer: steer the first so many; as in the paper's table.
PRESETS: dict[str, dict[str, Any]] = {
    "mini-sdxl": {
        "steps": 25,
        "guidance_scale": 3.0,
        "height": 128,
        "width": 128,
        "resolution": 128,
        "extra": {},
        # `athena tune`, 6 trials on 54 prompts each: docs/results/mini-sdxl-tuned.json
        "static": {"t_est": 12, "t_steer": 12, "gamma": 4.962},
        "feedback": {"t_est": 16, "t_steer": 6, "gamma": 2.642},
        "adaptive": {"t_est": 17, "t_steer": 8, "gamma": 1.528},
    },
    "mini-sd3": {
        "steps": 25,
        "guidance_scale": 3.0,
        "height": 128,
        "width": 128,
        "resolution": 128,
        "extra": {"max_sequence_length": 16},
        "static": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
        "feedback": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
        "adaptive": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
    },
    "mini-flux": {
        "steps": 25,
        "guidance_scale": 3.0,
        "height": 128,
        "width": 128,
        "resolution": 128,
        "extra": {"max_sequence_length": 16},
        "static": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
        "feedback": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
        "adaptive": {"t_est": 12, "t_steer": 5, "gamma": 2.0},
    },
}
