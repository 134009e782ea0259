-- RUN: help torch.distributed.fsdp.BackwardPrefetch.BACKWARD_PRE
-- >>> exit 0
BackwardPrefetch.BACKWARD_PRE, a class or function of PyTorch and its libraries:
    that is parallel.zero_prefetch here
    parallel = { zero_prefetch = 1 }
    parallel.zero_prefetch: zero 3: gathers ahead of their use
