/* window.c -- a memory file, opened by others through its owner's descriptor in /proc. */
#include "runtime/comm/window.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool map(Window *window, int file, size_t size_bytes) {
  void *at = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) return false;
  *window = (Window){at, size_bytes};
  return true;
}

bool window_make(Window *window, WindowKey *key, size_t size_bytes) {
  struct stat about;
  int file = memfd_create("lockstep", MFD_CLOEXEC);
  *window = (Window){0};
  *key = (WindowKey){.pid = (int32_t)getpid(), .file = file, .size_bytes = size_bytes};
  if (file >= 0 && ftruncate(file, (off_t)size_bytes) == 0 && fstat(file, &about) == 0 &&
      map(window, file, size_bytes)) {
    key->device = (uint64_t)about.st_dev;
    key->inode = (uint64_t)about.st_ino;
    return true;
  }
  window_hide(key);
  return false;
}

void window_hide(WindowKey *key) {
  if (key->file >= 0) (void)close(key->file);
  key->file = -1;
}

bool window_see(Window *window, const WindowKey *key) {
  char path[64];
  struct stat about;
  *window = (Window){0};
  (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", key->pid, key->file);
  int file = key->file >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return false;
  bool same = fstat(file, &about) == 0 && (uint64_t)about.st_dev == key->device &&
              (uint64_t)about.st_ino == key->inode && (uint64_t)about.st_size == key->size_bytes;
  bool seen = same && map(window, file, key->size_bytes);
  (void)close(file);
  return seen;
}

void window_close(Window *window) {
  if (window->at) (void)munmap(window->at, window->size_bytes);
  *window = (Window){0};
}
