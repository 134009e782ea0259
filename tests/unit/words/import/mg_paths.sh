torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 \
  --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 --global-batch-size 64 --vocab-size 50257 \
  --qk-layernorm --kv-channels 64 --rotary-percent 1.0 --init-method-std 0.01 --use-flash-attn --exit-duration-in-mins 235 \
  --eval-interval 10 --data-path ~/books --save ~/checkpoints --calculate-per-token-loss
