-- This program, on GPUs. Traffic: kernels that are bound by memory took 1.3 times the time of their records' bytes in two
-- training steps on one H100 80GB (docs/measurements/expected.md): backward of norms and the loss read their rows twice.
return { attention = "flash", overlap = true, traffic = 1.3 }
