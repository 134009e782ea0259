./train_gpt2cu -i data/train.bin -e d24 -b 4 -t 512 -d 4096 -x 10 -r 0 -y 1
