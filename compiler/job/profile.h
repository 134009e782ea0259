/* profile.h -- what predictions know beyond data sheets: of hardware, from specs/devices and
 * specs/clusters, and of programs, from specs/software. */
#ifndef LOCKSTEP_JOB_PROFILE_H
#define LOCKSTEP_JOB_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Hardware sustains these shares of the rates of its data sheet. */
typedef struct Sustained {
  double product;                       /* of the peak: large matrix products in a step */
  double attention, attention_backward; /* of the peak: long sequences, wide heads */
  double copy;                          /* of the memory's bandwidth */
  double intra, inter;                  /* of a link: large collectives */
  double switch_sums;      /* rate of sums inside switches, as a share of a ring's; 0: none */
  int64_t multiprocessors; /* 0: products of all sizes fill the device */
  int64_t kernel_ns;       /* between the kernels of a lane */
  double power_w;          /* most power of one device; 0: unknown */
} Sustained;

/* Rates of processors by `lockstep bench kernels`; in a cluster the share of a rank. FLOP/s of
 * products and attention, the others bytes a second of fp32; 0: not measured. */
typedef struct MeasuredRates {
  double product_fp32, product_bf16, attention, attention_backward;
  double norm, activation, loss, update, memory;
  double records; /* a second, of a few numbers each; not shared */
  bool is_taken;  /* ranks are on these processors */
} MeasuredRates;

/* A training program as predictions see it: a file of specs/software. Ours is "lockstep". */
typedef struct Software {
  const char *name;
  bool has_flash; /* attention is one kernel; else products and softmax, with scores in memory */
  bool remakes_scores; /* without flash: backward makes them again instead of keeping them */
  bool joins_gates;    /* an activation and the product with it are one kernel, and backward makes
                          them again; else both are kept */
  bool has_trees; /* gathers between nodes with one member each take log2 steps at the whole rate;
                     else NCCL's PAT, or rings */
  bool overlaps;  /* communication of gradients and weights runs beside compute */
  double traffic; /* bytes of kernels that are bound by memory, over those of our records */
  double product; /* time of products over that at the device's rate */
  double slack;   /* time of a step, divided by that of its kernels and communications */
} Software;

#endif
