-- RUN: help --words nosuch
-- >>> exit 1
lockstep: no tool is named 'nosuch': deepspeed, accelerate, trainer, megatron,
    torchtitan, torch, calls, nanogpt, llmc, variables, launch, systems, nccl,
    any
