"""For every test: no network, no chatter. Set before anything heavy is imported."""

import os

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    DIFFUSERS_VERBOSITY="error",
    TRANSFORMERS_VERBOSITY="error",
    MPLBACKEND="Agg",
    NO_COLOR="1",
)

import torch

torch.set_num_threads(1)  # tiny models: a second thread costs more than it brings
