#!/bin/bash
DATA_PATH=$1
GPT_ARGS="
    --num-layers 8 \
    --hidden-size 512 --num-attention-heads 8 \
    --seq-length 512 \
    --max-position-embeddings 1024 \
    --data-path $DATA_PATH \
    --lr 3e-4 \
    --save ${CKPT:-$HOME/ckpt} \
    --vocab-size 50257
"
GPT_ARGS="$GPT_ARGS --train-iters 1000"
GPT_ARGS+=" --global-batch-size 64"
FLAGS=(--bf16)
if [ -n "$BIG" ]; then
  GPT_ARGS+=" --clip-grad 2"
  FLAGS+=(--weight-decay 0.3)
fi
FLAGS+=(
  --use-distributed-optimizer
  --micro-batch-size 2
)
torchrun --nproc_per_node 8 pretrain_gpt.py $GPT_ARGS "${FLAGS[@]}"
