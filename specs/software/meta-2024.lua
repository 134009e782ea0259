-- The program that trained Llama 3 (Grattafiori et al. 2024, arXiv:2407.21783, section 3.3): compiled kernels, overlap.
-- Its library, NCCLX, is a fork of NCCL for networks with long latencies, before NCCL had PAT (section 3.3.3): gathers in trees.
-- Slack: the median of measured over expected times of its rows in bench/published, without slack.
return { attention = "flash", overlap = true, gathers = "trees", traffic = 1.5, slack = 1.0 }
