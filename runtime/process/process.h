/* process.h -- process-wide setup before anything is opened. */
#ifndef LOCKSTEP_PROCESS_H
#define LOCKSTEP_PROCESS_H

/* Opens descriptors 0 to 2 if they are closed, so that no file gets the number of a standard stream
 * and the text meant for it. A closed pipe or a file size limit makes writes fail (EPIPE, EFBIG)
 * instead of ending the process. When a mapped file is truncated by another process, this one names
 * it and ends with exit code 2. `program` starts that line; it must stay valid. */
void process_prepare(const char *program);

/* `hook` is called in the signal handler when a mapped file was truncated, so that another thread
 * can write a report and end the process, which otherwise ends soon by itself. process_lost_file()
 * says which file and what happened. */
void process_on_lost_file(void (*hook)(void));
const char *process_lost_file(void);

/* Only the first part of process_open. */
void process_keep_streams(void);

#endif
