/* window.h -- memory of one process that others on its node map, too. It has no name in any file
 * system: nothing of it is left when its processes have ended, however they did. */
#ifndef LOCKSTEP_COMM_WINDOW_H
#define LOCKSTEP_COMM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Window {
  void *at; /* NULL: there is none */
  size_t size_bytes;
} Window;

/* What another process needs to map it. */
typedef struct WindowKey {
  int32_t pid, file;      /* file -1: there is none */
  uint64_t device, inode; /* so that another process with this number is not taken for it */
  uint64_t size_bytes;
} WindowKey;

/* All zero; its pages are there when they are used. False: the system has no such memory. */
bool window_make(Window *window, WindowKey *key, size_t size_bytes);

/* Once all who want to have it mapped. */
void window_hide(WindowKey *key);

/* As another process sees it. False: this one may not, or cannot. */
bool window_see(Window *window, const WindowKey *key);

void window_close(Window *window);

#endif
