-- llm.c with cuDNN's attention (github.com/karpathy/llm.c at f1e2ace6): kernels of its own, a few of them fused.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "flash", overlap = false, traffic = 1.5, slack = 1.02 }
