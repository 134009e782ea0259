-- RUN: export-config job.lua --to trainer -o args.json && "$lockstep" import args.json -D model=gpt2-124m -D data=synthetic -D cluster.devices=2 | grep -oE '(momentum|floor) = [0-9.]+'; "$lockstep" export-config job.lua --to megatron 2>/dev/null | grep -E 'min-lr'; echo $?
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 2, vocab = 512, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 4, steps = 100 },
  optimizer = { "sgd", lr = 3e-4, weight_decay = 0.1 },
  schedule = { "cosine", warmup = 10, floor = 0.1 },
  parallel = { zero = 2 },
  memory = { recompute = "selective" },
  cluster = { "here", device = "cpu", devices = 2 },
}
-- >>> exit 0
wrote    args.json
5 things that the file of Hugging Face Trainer cannot say:
  optimizer.momentum = 0.9: its SGD has none
  decay of sgd: decay is added to gradients there, and passes through the
    momentum
  memory.recompute = selective: it recomputes all blocks or none: none
  train.context = 256: the length of sequences is that of the script's data
  model = gpt2: the model is the script's
learning rates:
  step                   1           2          10          55         100
  Trainer                0       3e-05     0.00027   0.0001697   3.008e-05
  here               3e-05       6e-05      0.0003   0.0001673   3.008e-05
start: torchrun --nnodes 1 --nproc_per_node 2 TRAIN.py FILE
momentum = 0
floor = 0.1
  --min-lr 3e-5 \
0
