GPUS=8
srun --nodes ${SLURM_NNODES:-4} torchrun --nproc_per_node ${GPUS:-2} --nnodes ${SLURM_NNODES:-4} pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --max-position-embeddings 1024 --seq-length 512 --micro-batch-size 2 --train-iters 1000 --lr ${LR:-3e-4} --global-batch-size 64 --seed $RANDOM --vocab-size 50257
