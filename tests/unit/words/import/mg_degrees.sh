TP=2
PP=2
ARGS=(
  --tensor-model-parallel-size $TP
  --pipeline-model-parallel-size $PP
  --num-layers-per-virtual-pipeline-stage 2
  --sequence-parallel
)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 ${ARGS[@]} --global-batch-size $((8 * TP * PP)) --vocab-size 50257
