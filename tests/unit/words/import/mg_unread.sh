DATA=$1
if [ -n "$X" ]; then
  EXTRA="--clip-grad 2"
fi
OLD=3
DATA_ARGS=(
  --tokenizer-model $2
  --split 949,50,1
  --seq-length 512
)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 $EXTRA "${DATA_ARGS[@]}" --data-path $DATA --global-batch-size 64 --seed $(date +%s) --vocab-size 50257
