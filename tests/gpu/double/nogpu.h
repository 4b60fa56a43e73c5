/* The interface by which tests use the double of the GPU stack: work for a virtual device, and faults.
 *
 * Only the double's libcupti.so.13 exports it, so a program needs neither a CUDA build of PyTorch
 * nor the other libraries; Python reaches it through ctypes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launches a kernel of this name as cudaLaunchKernel would, and returns the call's correlation id. With ns 0 it takes
 * the time that its name gives it. Stream 0 is the default stream; any other number is a stream of that number, made
 * when it is first named. */
uint32_t nogpu_launch(const char* kernel_name, uint64_t ns, uint64_t stream);

/* Copies that many bytes from host to device, as cudaMemcpyAsync on the default stream would. */
uint32_t nogpu_memcpy(uint64_t bytes);

/* Waits, as cudaDeviceSynchronize does, until all work of all devices is done. */
void nogpu_synchronize(void);

/* The virtual devices' clock: nanoseconds of CLOCK_REALTIME. */
uint64_t nogpu_now(void);

/* The time in nanoseconds that a kernel of this name takes with so many blocks. */
uint64_t nogpu_kernel_ns(const char* kernel_name, uint64_t blocks);

/* The number of operations that the virtual devices were given so far, whatever CUPTI reported. */
uint64_t nogpu_operations(void);

/* Whether somebody has CUPTI's seat: subscribed, and has not unsubscribed. */
int nogpu_seat_is_taken(void);

/* Sets a fault; value 0 ends it. Returns 0, or -1 if there is no fault of that name:
 *   lose       every value-th record of a device operation is dropped, and counted as dropped
 *   reorder    full buffers are delivered two at a time, the later one first
 *   hold       records of device operations stay with the device, whatever is flushed, until the fault ends
 *   no-seat    whoever subscribes is told that another tool has the seat
 *   no-buffer  the client is not asked for buffers, as if it had declined; records that need one are dropped
 * CASTSCOPE_NOGPU_FAULTS="lose=7,hold" sets them from the start. */
int nogpu_fault(const char* fault, uint64_t value);

#ifdef __cplusplus
}
#endif
