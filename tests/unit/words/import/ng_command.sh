python train.py config/train_x.py --batch_size=32 --compile=False --n_layer=4 --max_iters=100
