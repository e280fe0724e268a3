"""The benchmark: `athena bench` makes records, `athena report` reads them; what lies between is one file.

plan       what is to be made: prompts x strategies x seeds, shuffled, in chunks
identity   the name of an image: what would change it, and nothing else
book       the run folder: run.json, records.jsonl, images/
runner     makes what is missing, here or in worker processes
judging    counts saved images again, ours or anyone's
metrics, tables, plots, report    need records only: no torch, no model
"""
