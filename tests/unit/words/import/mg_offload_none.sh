torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 \
  --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 --global-batch-size 64 --vocab-size 50257 --bf16 \
  --use-distributed-optimizer --optimizer-cpu-offload --optimizer-offload-fraction 0.0
