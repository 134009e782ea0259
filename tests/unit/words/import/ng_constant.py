learning_rate = 3e-5
decay_lr = False
max_iters = 20
init_from = 'gpt2-xl'
dtype = 'float16'
"""
a text
"""
import time
