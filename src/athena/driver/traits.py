"""What diffusers' pipelines call their parts: the one table of names the driver knows.

No class of a pipeline is named anywhere in this room; these are the names of attributes and arguments.
"""

# Their forward is the seam. The third is a second expert, the fourth guides without a prompt.
DENOISERS = ("transformer", "unet", "transformer_2", "unconditional_transformer")
SIDE_NETWORKS = ("controlnet",)  # run once a step beside the denoiser, so they fall silent with it
TEXT_ENCODERS = (
    "text_encoder",
    "image_encoder",
    "prior_text_encoder",
)  # by the beginning of the name: text_encoder_2, ...

# Attention processors that part their batch in two or three (perturbed-attention guidance), by the beginning of
# the class's name: under them a row means nothing without the other rows of its image.
ROWS_TOGETHER = "PAG"

SAMPLE = ("hidden_states", "sample", "x")  # the noisy latents among the denoiser's arguments

# Arguments that hold positions of tokens or pixels: their first dimension is never the sample.
POSITIONS = frozenset({"img_ids", "txt_ids", "image_rotary_emb", "freqs_cis", "rotary_emb"})

# Arguments that remember earlier steps (keys and values of the text, read once): the step that fills them cannot be
# passed over, two prompts cannot share one, and what else differs tells whether the prompt changed anything.
MEMORIES = frozenset({"kv_cache", "kv_caches"})

# The time of a step, one for each row; some pipes give one for each block of guidance, however many images it has.
TIMES = ("timestep",)

# Arguments that follow the latents through a side network: never what the prompt changed.
FROM_SIDE_NETWORKS = frozenset(
    {
        "down_block_additional_residuals",
        "mid_block_additional_residual",
        "down_intrablock_additional_residuals",
        "controlnet_block_samples",
        "controlnet_single_block_samples",
        "block_controlnet_hidden_states",
    }
)

# Arguments of a pipeline's call of which every image has its own; `latents` besides.
TEXTS = ("prompt", "negative_prompt")  # by the beginning of the name: prompt_2, negative_prompt_3, ...
PICTURES = (
    "image",
    "control_image",
    "mask_image",
)  # and of these where they come as a list, beside a ControlNet

# What diffusers' own pipes still read from their **kwargs.
LEGACY = ("callback", "callback_steps", "prior_callback", "prior_callback_steps")
