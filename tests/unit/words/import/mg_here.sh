#!/bin/bash
# Sums of a shell are whole, from left to right; documents are no commands.
LAYERS=$((7/2*2))
BATCH=$((010 * 2))
LOGS=${LOGS:-"${PWD}/logs/$(date +%s)-$$"}
cat <<EOT > ds_config.json
{ "train_batch_size": 99, "x": $BATCH }
torchrun pretrain_gpt.py --num-layers 99 --hidden-size 99
EOT
cat <<-'EOT' | tee notes.txt
	it's a note with a quote that does not end
	EOT
torchrun --nproc_per_node 2 pretrain_gpt.py \
  --num-layers $LAYERS --hidden-size 64 --num-attention-heads 4 --seq-length 64 \
  --max-position-embeddings 64 --micro-batch-size 2 --global-batch-size $BATCH \
  --train-iters $((100 % 64 + 64)) --lr 1e-3 --data-path words --bf16
