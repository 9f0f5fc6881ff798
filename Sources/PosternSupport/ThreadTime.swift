import Glibc

/// The processor time that the calling thread has used: what work costs, whatever else the machine does meanwhile.
public enum ThreadTime {
  /// In nanoseconds. A system call, unlike the other clocks.
  public static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
