-- PyTorch's FSDP2 with torch.compile, as torchtitan runs it.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "flash", overlap = true, traffic = 1.5, slack = 1.08 }
