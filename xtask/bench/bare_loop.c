/* The least that a sampling thread can do: sleep, read the clock, count. What a sample costs beyond it is ours.
   Usage: bare_loop INTERVAL_NS PRIORITY CPU...   one thread per CPU, until it is killed */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long interval_ns;
static int priority;
static volatile uint64_t late[1024];

static void *sample(void *argument)
{
	long cpu = (long)argument;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	struct sched_param param = { .sched_priority = priority };
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		exit(1);
	struct timespec due, now;
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		due.tv_nsec += interval_ns;
		while (due.tv_nsec >= 1000000000) {
			due.tv_nsec -= 1000000000;
			due.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		late[cpu]++;
	}
}

int main(int argc, char **argv)
{
	if (argc < 4 || mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	interval_ns = atol(argv[1]);
	priority = atoi(argv[2]);
	for (int i = 3; i < argc; i++) {
		pthread_t thread;
		pthread_attr_t attributes;
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, 65536);
		if (pthread_create(&thread, &attributes, sample, (void *)atol(argv[i])))
			return 1;
	}
	pause();
}
