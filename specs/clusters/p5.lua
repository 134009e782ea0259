-- AWS p5.48xlarge: eight H100 on NVLink 4, 3,200 Gb/s of EFA for all. 32 cards of 100 Gb/s (EC2 User Guide); 192 vCPUs
-- on 96 cores. Latencies are those of dgx-h100, which no EFA undercuts.
return { "dgx-h100", cores = 96, network = "efa" }
