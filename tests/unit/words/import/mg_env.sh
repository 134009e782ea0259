export NCCL_IB_HCA=mlx5
export NCCL_DEBUG=WARN
CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 2 --train-iters 1000 --lr 3e-4 --global-batch-size 64 --vocab-size 50257 --grad-reduce-in-bf16 --fp8-format hybrid --bf16
