"""What a call or a pipe may bring along: unsteered through ATHENA it equals the bare pipe, and steering runs."""

import pytest
import torch

import zoo
from athena.driver import Driver, Steering
from drive import CATS, SEVEN, STEPS, THREE, bare, furthest

AWAY = Steering(THREE, 2.0, 2)


def lora():
    from peft import LoraConfig

    pipe = zoo.sdxl()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pipe.unet.add_adapter(LoraConfig(r=2, target_modules=["to_q", "to_v"], init_lora_weights=False))
    return pipe, zoo.CALL["sdxl"]


def ip_adapter():
    """Random weights in the layout of a published IP-Adapter, and an embedded picture to go by."""
    from diffusers.models.attention_processor import IPAdapterAttnProcessor
    from diffusers.models.embeddings import ImageProjection

    pipe = zoo.sd15()
    weights, place = {}, 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for name in pipe.unet.attn_processors:
            if name.endswith("attn2.processor"):
                width = pipe.unet.get_submodule(name.removesuffix(".processor")).to_q.in_features
                one = IPAdapterAttnProcessor(hidden_size=width, cross_attention_dim=32).state_dict()
                for key in ("to_k_ip", "to_v_ip"):
                    weights[f"{place}.{key}.weight"] = one[f"{key}.0.weight"]
                place += 2
        seen = ImageProjection(
            image_embed_dim=32, cross_attention_dim=32, num_image_text_embeds=4
        ).state_dict()
        picture = torch.randn(2, 1, 32)
    projection = {
        "proj.weight": seen["image_embeds.weight"],
        "proj.bias": seen["image_embeds.bias"],
        "norm.weight": seen["norm.weight"],
        "norm.bias": seen["norm.bias"],
    }
    pipe.unet._load_ip_adapter_weights([{"image_proj": projection, "ip_adapter": weights}])
    return pipe, {**zoo.CALL["sd15"], "ip_adapter_image_embeds": [picture]}


def controlnet():
    entry = zoo.EVERY["StableDiffusionControlNetPipeline"]
    return entry.build(), {**entry.call, "image": zoo.every.PHOTO, "controlnet_conditioning_scale": 0.7}


def guess_mode():
    """The ControlNet sees the conditional rows only."""
    pipe, call = controlnet()
    return pipe, {**call, "guess_mode": True}


def negative_prompt():
    return zoo.sdxl(), {**zoo.CALL["sdxl"], "negative_prompt": "blurry", "negative_prompt_2": "white"}


def guidance_rescale():
    return zoo.sdxl(), {**zoo.CALL["sdxl"], "guidance_rescale": 0.7}


def true_cfg_scale():
    return zoo.flux(), {**zoo.CALL["flux"], "true_cfg_scale": 3.0, "negative_prompt": "blurry"}


def pag():
    entry = zoo.EVERY["StableDiffusionXLPAGPipeline"]
    return entry.build(), {**entry.call, "pag_adaptive_scale": 0.1}


def cache_hooks():
    from diffusers import FirstBlockCacheConfig

    pipe = zoo.qwen()
    pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=0.0))
    return pipe, zoo.CALL["qwen"]


BROUGHT = [
    lora, ip_adapter, controlnet, guess_mode, negative_prompt, guidance_rescale, true_cfg_scale, pag, cache_hooks
]  # fmt: skip


@pytest.mark.parametrize("brought", BROUGHT)
def test_unsteered_is_the_bare_pipe_and_steering_runs(brought):
    pipe, call = brought()
    call = {**call, "num_inference_steps": 4, "output_type": "latent"}
    expected, both = bare(pipe, [SEVEN], [1], call), bare(pipe, [SEVEN, CATS], [1, 2], call)
    driver = Driver(pipe)
    assert furthest(driver.run([SEVEN], [1], **call), expected) == 0.0
    assert furthest(driver.run([SEVEN, CATS], [1, 2], **call), both) == 0.0
    steered = driver.run([SEVEN, CATS], [1, 2], [AWAY, None], **call)
    assert steered.isfinite().all()
    assert furthest(steered[:1], both[:1]) > 1e-3
    assert furthest(steered[1:], both[1:]) < 1e-4, "and it steers nobody else"
    assert furthest(bare(pipe, [SEVEN], [1], call), expected) == 0.0


def test_what_is_brought_is_felt():
    """Or the test above would show nothing: each changes the bare pipe's image."""
    for brought, plain in (
        (ip_adapter, "sd15"),
        (controlnet, "sd15"),
        (lora, "sdxl"),
        (guidance_rescale, "sdxl"),
    ):
        pipe, call = brought()
        how = {"num_inference_steps": 2, "output_type": "latent"}
        other = bare(zoo.PIPELINES[plain](), [SEVEN], [1], {**zoo.CALL[plain], **how})
        assert furthest(bare(pipe, [SEVEN], [1], {**call, **how}), other) > 1e-3, brought.__name__


def test_a_list_of_pictures_has_one_for_each_image():
    """They go where their prompts go, however the batch is parted."""
    pipe, call = controlnet()
    photo = call.pop("image")
    other = photo.rotate(90)
    call = {**call, "num_inference_steps": STEPS, "output_type": "latent"}
    driver = Driver(pipe)
    expected = bare(pipe, [SEVEN, CATS], [1, 2], {**call, "image": [photo, other]})
    states = driver.run([SEVEN, CATS], [1, 2], until=2, **call, image=[photo, other])
    assert furthest(driver.resume(states), expected) == 0.0
    assert furthest(driver.resume(states[1]), expected[1:]) < 1e-4
    assert furthest(bare(pipe, [CATS], [2], {**call, "image": photo}), expected[1:]) > 1e-3
