torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 \
  --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --train-iters 100 --optimizer lion --lr 3e-4 \
  --min-lr 9e-5 --lr-warmup-init 2.1e-4 --lr-warmup-iters 10 --lr-decay-style cosine
