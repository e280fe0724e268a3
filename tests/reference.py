"""The oracle: plain denoising loops with explicit guidance and steering, and the paper's algorithms.

Independent of `athena` on purpose. Batches of one, fp32, nothing clever: a restart starts over, and "continue
from the snapshot" samples the whole trajectory again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from diffusers import (
    DDIMScheduler,
    DDPMScheduler,
    DiffusionPipeline,
    EulerAncestralDiscreteScheduler,
    EulerDiscreteScheduler,
    HeunDiscreteScheduler,
    LCMScheduler,
    PNDMScheduler,
    SchedulerMixin,
)
from PIL.Image import Image
from torch import Tensor, cat

# --- steering, and the clean estimate


def steered(eps: Tensor, control: Tensor, gamma: float) -> Tensor:
    """eps + gamma (eps - control), at the norm of eps; one norm for each sample, over all its dimensions."""
    moved = eps + gamma * (eps - control)
    scale = eps.flatten(1).norm(dim=1) / moved.flatten(1).norm(dim=1)
    return moved * scale.view(-1, *[1] * (eps.ndim - 1))


def clean_estimate(scheduler: SchedulerMixin, i: int, t: Tensor, prediction: Tensor, z: Tensor) -> Tensor:
    """z0_hat, from the prediction made at z in the i-th call of `scheduler.step`."""
    if isinstance(scheduler, (DDIMScheduler, DDPMScheduler, LCMScheduler, PNDMScheduler)):
        alpha = scheduler.alphas_cumprod[int(t)] ** 0.5  # z = alpha z0 + sigma eps, alpha^2 + sigma^2 = 1
        sigma = (1 - alpha**2) ** 0.5
    elif isinstance(
        scheduler, (EulerDiscreteScheduler, EulerAncestralDiscreteScheduler, HeunDiscreteScheduler)
    ):
        s = scheduler.sigmas[i]  # z = z0 + s eps, which is the above over alpha
        alpha, sigma = 1 / (1 + s**2) ** 0.5, s / (1 + s**2) ** 0.5
        z = alpha * z
    elif scheduler.config.get("prediction_type", "flow_prediction") == "flow_prediction":
        return z - scheduler.sigmas[i] * prediction
    else:  # DPM++ and UniPC: sigmas like Euler's, latents like DDIM's
        s = scheduler.sigmas[i]
        alpha, sigma = 1 / (1 + s**2) ** 0.5, s / (1 + s**2) ** 0.5
    return {
        "epsilon": lambda: (z - sigma * prediction) / alpha,
        "v_prediction": lambda: alpha * z - sigma * prediction,
        "sample": lambda: prediction,
    }[scheduler.config.prediction_type]()


# --- the families: noise, timesteps, one guided prediction, the decoder


@dataclass
class Family:
    """What differs between pipelines. `predict(z, t, gamma)` returns what goes into `scheduler.step`."""

    noise: Callable[[torch.Generator], Tensor]
    predict: Callable[[Tensor, Tensor, float], Tensor]
    decode: Callable[[Tensor], Tensor]
    timesteps: dict = field(default_factory=dict)  # more for scheduler.set_timesteps
    generator_in_step: bool = False


def _size(pipe: DiffusionPipeline, call: dict) -> tuple[int, int]:
    return call["height"] // pipe.vae_scale_factor, call["width"] // pipe.vae_scale_factor


def _plain_noise(shape: tuple[int, ...]) -> Callable[[torch.Generator], Tensor]:
    return lambda generator: torch.randn(shape, generator=generator)


def _plain_decode(pipe: DiffusionPipeline) -> Callable[[Tensor], Tensor]:
    config = pipe.vae.config
    return lambda z: pipe.vae.decode(z / config.scaling_factor + (config.shift_factor or 0.0)).sample


def _shift(pipe: DiffusionPipeline, tokens: int) -> float:
    """mu: log of the timestep shift, linear in the number of image tokens."""
    c = pipe.scheduler.config
    n0, n1 = c.get("base_image_seq_len", 256), c.get("max_image_seq_len", 4096)
    s0, s1 = c.get("base_shift", 0.5), c.get("max_shift", 1.15)
    return s0 + (s1 - s0) * (tokens - n0) / (n1 - n0)


def _pack(z: Tensor) -> Tensor:
    """(batch, channel, height, width) to (batch, token, channel x 2 x 2)."""
    b, c, h, w = z.shape
    return z.view(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(b, h * w // 4, 4 * c)


def _unpack(z: Tensor, h: int, w: int) -> Tensor:
    b, _, c = z.shape
    return z.view(b, h // 2, w // 2, c // 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, c // 4, h, w)


def _sdxl(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    negative = {"negative_prompt": call.get("negative_prompt")}
    text, no_text, pooled, no_pooled = pipe.encode_prompt(prompt, **negative)
    other, _, other_pooled, _ = pipe.encode_prompt(control or prompt)
    size = (call["height"], call["width"])
    time_ids = torch.tensor([[*size, 0, 0, *size]], dtype=torch.float32)
    guidance = call["guidance_scale"]

    def unet(x: Tensor, t: Tensor, text: Tensor, pooled: Tensor) -> Tensor:
        added = {"text_embeds": pooled, "time_ids": time_ids.repeat(len(x), 1)}
        return pipe.unet(x, t, encoder_hidden_states=text, added_cond_kwargs=added).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        x = pipe.scheduler.scale_model_input(z, t)
        if guidance <= 1:
            eps = unet(x, t, text, pooled)
            return steered(eps, unet(x, t, other, other_pooled), gamma) if gamma else eps
        no_eps, eps = unet(cat([x, x]), t, cat([no_text, text]), cat([no_pooled, pooled])).chunk(2)
        if gamma:
            eps = steered(eps, unet(x, t, other, other_pooled), gamma)
        return no_eps + guidance * (eps - no_eps)

    return Family(
        _plain_noise((1, 4, *_size(pipe, call))), predict, _plain_decode(pipe), generator_in_step=True
    )


def _sd15(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    text, no_text = pipe.encode_prompt(prompt, "cpu", 1, True, negative_prompt=call.get("negative_prompt"))
    other, _ = pipe.encode_prompt(control or prompt, "cpu", 1, False)
    guidance = call["guidance_scale"]

    def unet(x: Tensor, t: Tensor, text: Tensor) -> Tensor:
        return pipe.unet(x, t, encoder_hidden_states=text).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        x = pipe.scheduler.scale_model_input(z, t)
        if guidance <= 1:
            eps = unet(x, t, text)
            return steered(eps, unet(x, t, other), gamma) if gamma else eps
        no_eps, eps = unet(cat([x, x]), t, cat([no_text, text])).chunk(2)
        if gamma:
            eps = steered(eps, unet(x, t, other), gamma)
        return no_eps + guidance * (eps - no_eps)

    return Family(
        _plain_noise((1, 4, *_size(pipe, call))), predict, _plain_decode(pipe), generator_in_step=True
    )


def _pixart(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    encode = {"clean_caption": False, "max_sequence_length": call["max_sequence_length"]}
    negative = call.get("negative_prompt") or ""
    text, mask, no_text, no_mask = pipe.encode_prompt(prompt, negative_prompt=negative, **encode)
    other, other_mask, _, _ = pipe.encode_prompt(control or prompt, **encode)
    guidance = call["guidance_scale"]

    def transformer(x: Tensor, t: Tensor, text: Tensor, mask: Tensor) -> Tensor:
        more = {"encoder_attention_mask": mask, "timestep": t.expand(len(x))}
        more["added_cond_kwargs"] = {"resolution": None, "aspect_ratio": None}
        return pipe.transformer(x, encoder_hidden_states=text, **more).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        x = pipe.scheduler.scale_model_input(z, t)
        no_eps, eps = transformer(cat([x, x]), t, cat([no_text, text]), cat([no_mask, mask])).chunk(2)
        if gamma:  # on the whole row, the learned sigma's channels too
            eps = steered(eps, transformer(x, t, other, other_mask), gamma)
        return (no_eps + guidance * (eps - no_eps)).chunk(2, dim=1)[0]

    return Family(
        _plain_noise((1, 4, *_size(pipe, call))), predict, _plain_decode(pipe), generator_in_step=True
    )


def _sd3(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    length = {"max_sequence_length": call["max_sequence_length"]}
    negative = call.get("negative_prompt") or ""
    text, no_text, pooled, no_pooled = pipe.encode_prompt(
        prompt, prompt, prompt, negative_prompt=negative, **length
    )
    control = control or prompt
    other, _, other_pooled, _ = pipe.encode_prompt(control, control, control, **length)
    guidance = call["guidance_scale"]

    def transformer(x: Tensor, t: Tensor, text: Tensor, pooled: Tensor) -> Tensor:
        more = {"timestep": t.expand(len(x)), "encoder_hidden_states": text, "pooled_projections": pooled}
        return pipe.transformer(hidden_states=x, **more).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        if guidance <= 1:
            v = transformer(z, t, text, pooled)
            return steered(v, transformer(z, t, other, other_pooled), gamma) if gamma else v
        no_v, v = transformer(cat([z, z]), t, cat([no_text, text]), cat([no_pooled, pooled])).chunk(2)
        if gamma:
            v = steered(v, transformer(z, t, other, other_pooled), gamma)
        return no_v + guidance * (v - no_v)

    h, w = _size(pipe, call)
    config = pipe.scheduler.config
    shift = {"mu": _shift(pipe, h * w // 4)} if config.get("use_dynamic_shifting") else {}
    return Family(_plain_noise((1, 4, h, w)), predict, _plain_decode(pipe), shift)


def _flow_timesteps(pipe: DiffusionPipeline, tokens: int, steps: int, *, own_sigmas: bool = False) -> dict:
    sigmas = None if own_sigmas else np.linspace(1.0, 1 / steps, steps)
    return {"sigmas": sigmas, "mu": _shift(pipe, tokens)}


def _flux(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    length = {"max_sequence_length": call["max_sequence_length"]}
    text, pooled, txt_ids = pipe.encode_prompt(prompt, **length)
    other, other_pooled, _ = pipe.encode_prompt(control or prompt, **length)
    h, w = _size(pipe, call)
    rows, columns = torch.meshgrid(torch.arange(h // 2), torch.arange(w // 2), indexing="ij")
    img_ids = torch.stack([torch.zeros_like(rows), rows, columns], dim=-1).reshape(-1, 3).float()

    def transformer(x: Tensor, t: Tensor, text: Tensor, pooled: Tensor) -> Tensor:
        return pipe.transformer(
            hidden_states=x,
            timestep=t.expand(len(x)) / 1000,
            guidance=torch.full((len(x),), call["guidance_scale"]),
            encoder_hidden_states=text,
            pooled_projections=pooled,
            txt_ids=txt_ids,
            img_ids=img_ids,
        ).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        v = transformer(z, t, text, pooled)  # guidance is distilled into the model: no second row
        return steered(v, transformer(z, t, other, other_pooled), gamma) if gamma else v

    own_sigmas = bool(pipe.scheduler.config.get("use_flow_sigmas"))
    return Family(
        noise=lambda generator: _pack(torch.randn(1, 4, h, w, generator=generator)),
        predict=predict,
        decode=lambda z: _plain_decode(pipe)(_unpack(z, h, w)),
        timesteps=_flow_timesteps(pipe, h * w // 4, steps, own_sigmas=own_sigmas),
    )


def _qwen(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    texts = {"text": prompt, "negative": call["negative_prompt"], "control": control or prompt}
    length = {"max_sequence_length": call["max_sequence_length"]}
    encoded = {which: pipe.encode_prompt(text, **length) for which, text in texts.items()}
    guidance = call["true_cfg_scale"]
    h, w = _size(pipe, call)

    def transformer(x: Tensor, t: Tensor, which: str) -> Tensor:
        text, mask = encoded[which]
        more = {"encoder_hidden_states": text, "encoder_hidden_states_mask": mask}
        more["img_shapes"] = [[(1, h // 2, w // 2)]]
        return pipe.transformer(hidden_states=x, timestep=t.expand(1) / 1000, **more).sample

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        v = transformer(z, t, "text")
        if gamma:
            v = steered(v, transformer(z, t, "control"), gamma)
        no_v = transformer(z, t, "negative")
        guided = no_v + guidance * (v - no_v)
        return guided * (v.norm(dim=-1, keepdim=True) / guided.norm(dim=-1, keepdim=True))  # token by token

    def decode(z: Tensor) -> Tensor:
        mean, std = (torch.tensor(x).view(1, -1, 1, 1, 1) for x in (config.latents_mean, config.latents_std))
        return pipe.vae.decode(_unpack(z, h, w)[:, :, None] * std + mean).sample[:, :, 0]

    config = pipe.vae.config
    return Family(
        noise=lambda generator: _pack(torch.randn(1, 1, 4, h, w, generator=generator)[:, 0]),
        predict=predict,
        decode=decode,
        timesteps=_flow_timesteps(pipe, h * w // 4, steps),
    )


def _zimage(pipe: DiffusionPipeline, prompt: str, control: str | None, steps: int, call: dict) -> Family:
    length = {"max_sequence_length": call["max_sequence_length"]}
    text, no_text = pipe.encode_prompt([prompt], negative_prompt=call.get("negative_prompt"), **length)
    other, _ = pipe.encode_prompt([control or prompt], **length)
    guidance = call["guidance_scale"]
    h, w = _size(pipe, call)

    def transformer(x: Tensor, t: Tensor, text: list[Tensor]) -> Tensor:
        frames = [x[0][:, None]] * len(text)
        return torch.stack(pipe.transformer(frames, (1000 - t.expand(len(text))) / 1000, text).sample)[
            :, :, 0
        ]

    def predict(z: Tensor, t: Tensor, gamma: float) -> Tensor:
        v, no_v = transformer(z, t, text + no_text).chunk(2)  # the text first, here
        if gamma:
            v = steered(v, transformer(z, t, other), gamma)
        return -(v + guidance * (v - no_v))  # this model looks from noise to image

    return Family(
        _plain_noise((1, 4, h, w)), predict, _plain_decode(pipe), _flow_timesteps(pipe, h * w // 4, steps)
    )


FAMILIES = {
    "StableDiffusionXLPipeline": _sdxl,
    "StableDiffusionPipeline": _sd15,
    "PixArtSigmaPipeline": _pixart,
    "StableDiffusion3Pipeline": _sd3,
    "FluxPipeline": _flux,
    "QwenImagePipeline": _qwen,
    "ZImagePipeline": _zimage,
}


# --- the loop


@torch.no_grad()
def sample(
    pipe: DiffusionPipeline,
    prompt: str,
    seed: int,
    steps: int,
    control: str | None = None,
    gamma: float = 0.0,
    steer_steps: int = 0,
    until: int | None = None,
    **call: object,
) -> Tensor | tuple[Tensor, Tensor]:
    """The final latents, as the pipe returns them for output_type="latent".

    With `until`, the latents after that many steps, and the clean estimate there.
    """
    family = FAMILIES[type(pipe).__name__](pipe, prompt, control, steps, call)
    scheduler = pipe.scheduler
    generator = torch.Generator().manual_seed(seed)
    sigmas = family.timesteps.get("sigmas")
    more = {name: value for name, value in family.timesteps.items() if value is not None}
    scheduler.set_timesteps(**({} if sigmas is not None else {"num_inference_steps": steps}), **more)
    z = family.noise(generator)
    step_more = {}
    if family.generator_in_step:
        z = z * scheduler.init_noise_sigma
        accepted = inspect.signature(scheduler.step).parameters
        offered = {"generator": generator, "eta": call.get("eta", 0.0)}
        step_more = {name: value for name, value in offered.items() if name in accepted}

    for i, t in enumerate(scheduler.timesteps):
        step = i // scheduler.order  # Heun calls twice a step
        prediction = family.predict(z, t, gamma if control and step < steer_steps else 0.0)
        made_at = z
        z = scheduler.step(prediction, t, z, **step_more).prev_sample
        last_call = i == len(scheduler.timesteps) - 1 or (i + 1) % scheduler.order == 0
        if until is not None and last_call and step + 1 == until:
            return z, clean_estimate(scheduler, i, t, prediction, made_at)
    return z


@torch.no_grad()
def decode(pipe: DiffusionPipeline, latents: Tensor, **call: object) -> Image:
    """Latents as `sample` returns them, to a picture."""
    family = FAMILIES[type(pipe).__name__](pipe, "", None, 1, call)
    return pipe.image_processor.postprocess(family.decode(latents), output_type="pil")[0]


# --- the paper's algorithms

WORDS = "no one two three four five six seven eight nine ten eleven twelve"
NUMBERS = WORDS.split()
Counter = Callable[[Image], int]


def ask(template: str, count: int | None) -> str:
    """ask("a photo of {} cats", 3): "a photo of three cats"; with None, "a photo of cats"."""
    return " ".join(template.format("" if count is None else NUMBERS[count]).split())


@dataclass
class Outcome:
    """The final latents, and each trajectory's control prompt, gamma and count (None: not looked at)."""

    latents: Tensor
    attempts: list[tuple[str | None, float, int | None]]


def static(
    pipe, template: str, k: int, seed: int, steps: int, *, gamma: float, t_steer: int, **call
) -> Outcome:
    """Athena-Static."""
    p = ask(template, k)
    p_hat = ask(template, None)
    z_0 = sample(pipe, p, seed, steps, p_hat, gamma, t_steer, **call)
    return Outcome(z_0, [(p_hat, gamma, None)])


def feedback(
    pipe,
    template: str,
    k: int,
    seed: int,
    steps: int,
    count: Counter,
    *,
    gamma: float,
    t_steer: int,
    t_est: int,
    **call,
) -> Outcome:
    """Athena-Feedback. A match continues the run it was seen in, which is the same as running it through."""
    p = ask(template, k)
    _, z_0_hat = sample(pipe, p, seed, steps, until=t_est, **call)
    c = count(decode(pipe, z_0_hat, **call))
    attempts = [(None, 0.0, c)]
    if c == k:
        return Outcome(sample(pipe, p, seed, steps, **call), attempts)
    p_hat = ask(template, c)
    z_0 = sample(pipe, p, seed, steps, p_hat, gamma, t_steer, **call)
    return Outcome(z_0, [*attempts, (p_hat, gamma, None)])


def adaptive(
    pipe,
    template: str,
    k: int,
    seed: int,
    steps: int,
    count: Counter,
    *,
    gamma: float,
    t_steer: int,
    t_est: int,
    **call,
) -> Outcome:
    """Athena-Adaptive, as printed: the same side and further away halves gamma too."""
    p = ask(template, k)
    _, z_0_hat = sample(pipe, p, seed, steps, until=t_est, **call)
    c_1 = count(decode(pipe, z_0_hat, **call))
    attempts = [(None, 0.0, c_1)]
    if c_1 == k:
        return Outcome(sample(pipe, p, seed, steps, **call), attempts)
    p_hat = ask(template, c_1)
    _, z_0_hat = sample(pipe, p, seed, steps, p_hat, gamma, t_steer, until=t_est, **call)
    c_2 = count(decode(pipe, z_0_hat, **call))
    attempts.append((p_hat, gamma, c_2))
    if c_2 != k:
        too_little = c_1 <= c_2 < k or k < c_2 <= c_1
        gamma = 2 * gamma if too_little else gamma / 2
        attempts.append((p_hat, gamma, None))
    return Outcome(sample(pipe, p, seed, steps, p_hat, gamma, t_steer, **call), attempts)
