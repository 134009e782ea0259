torchrun --nproc_per_node 2 pretrain_gpt.py --num-layers 2 --hidden-size 192 --num-attention-heads 4 --seq-length 128 \
  --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --train-iters 100 --lr 3e-4 --swiglu \
  --normalization RMSNorm --position-embedding-type rope --vocab-size 512 --tensor-model-parallel-size 2 --sequence-parallel \
  --use-distributed-optimizer
