# autocast to dtype is only for CUDA
device = 'cpu'
dtype = 'bfloat16'
compile = False
batch_size = 4
block_size = 64
bias = True
gradient_accumulation_steps = 1
max_iters = 20
