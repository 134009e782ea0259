/* window.h -- memory of one process that other processes on its node also map. The memory has no
 * name in any file system, so it is freed when its processes have ended, even if they are killed.
 */
#ifndef LOCKSTEP_COMM_WINDOW_H
#define LOCKSTEP_COMM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Window {
  void *at; /* NULL: there is none */
  size_t size_bytes;
} Window;

/* The facts that another process needs to map the window. */
typedef struct WindowKey {
  int32_t pid, file;      /* file -1: there is none */
  uint64_t device, inode; /* so that another process with the same pid is not mistaken for it */
  uint64_t size_bytes;
} WindowKey;

/* Zeroed; pages are allocated when they are used. False: the system has no such memory. */
bool window_make(Window *window, WindowKey *key, size_t size_bytes);

/* Call after all that need it have mapped it. */
void window_hide(WindowKey *key);

/* Maps another process's window. False: this process may not, or cannot. */
bool window_see(Window *window, const WindowKey *key);

void window_close(Window *window);

#endif
