/* architectures.h -- which GPUs the kernels run on, by the list that CMakeLists.txt compiled for:
 * "80, 90a, 80+PTX". Code for 8.0 also runs on 8.6 and 8.9, that for 9.0a on 9.0 alone, and none of
 * it on another major version; PTX is compiled by the driver, for the same and every later one. */
#ifndef LOCKSTEP_CUDA_ARCHITECTURES_H
#define LOCKSTEP_CUDA_ARCHITECTURES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool architectures_cover(const char *list, int major, int minor) {
  for (const char *at = list; at != NULL && *at != '\0';) {
    char *end = NULL;
    long number = strtol(at, &end, 10);
    bool is_exact = *end == 'a', is_ptx = strncmp(end, "+PTX", 4) == 0;
    if (is_ptx && major * 10 + minor >= number) return true;
    if (!is_ptx && major == number / 10 && (is_exact ? minor == number % 10 : minor >= number % 10))
      return true;
    at = strchr(end, ',');
    if (at != NULL) at++;
  }
  return false;
}

#endif
