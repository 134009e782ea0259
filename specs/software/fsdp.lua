-- PyTorch's FSDP2 without torch.compile, as torchtitan runs it: norms, activations and rotations are several kernels each.
-- SiLU and the product with it are two, and both results are kept for backward.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "flash", overlap = true, gates = "apart", traffic = 2.5, slack = 1.05 }
