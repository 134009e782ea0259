/* process.h -- what a process arranges with the system before it opens anything. */
#ifndef LOCKSTEP_PROCESS_H
#define LOCKSTEP_PROCESS_H

/* Descriptors 0 to 2 are open from here on, so that no file gets the number of a closed stream and
 * the text meant for it. A reader that has gone away and a file size limit make writes fail
 * (EPIPE, EFBIG) instead of ending the process. When a mapped file is cut short by somebody else,
 * the process says which and ends with exit code 2. `program` starts that line; it must live on. */
void process_prepare(const char *program);

/* The first part of it alone. */
void process_keep_streams(void);

#endif
