-- Nodes without GPUs: whole nodes, no hyper-threads, MPI over the fastest network that libfabric finds.
return { gpus = "none", sbatch = { exclusive = true, mem = "0", hint = "nomultithread" } }
