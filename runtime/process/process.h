/* process.h -- what a process arranges with the system before it opens anything. */
#ifndef LOCKSTEP_PROCESS_H
#define LOCKSTEP_PROCESS_H

/* Descriptors 0 to 2 are open from here on, so that no file gets the number of a closed stream and
 * the text meant for it. A reader that has gone away and a file size limit make writes fail
 * (EPIPE, EFBIG) instead of ending the process. When a mapped file is cut short by somebody else,
 * the process says which and ends with exit code 2. `program` starts that line; it must live on. */
void process_prepare(const char *program);

/* `hook` is called when a mapped file was cut short, in the handler of a signal, so that last words
 * can be said in another thread, which then ends the process; the process ends soon without it,
 * too. process_lost_file() is what they are about: the file and what came of it. */
void process_on_lost_file(void (*hook)(void));
const char *process_lost_file(void);

/* The first part of it alone. */
void process_keep_streams(void);

#endif
