torchrun --nproc_per_node=8 -m torchtitan.train --training.steps=1000 --training.local_batch_size=4 --parallelism.tensor_parallel_degree 2 --optimizer.lr 1e-4
