deepspeed pretrain_gpt.py --deepspeed_config made.json --num-layers 8 --hidden-size 512 --num-attention-heads 8 \
  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 --global-batch-size 64 --vocab-size 50257
