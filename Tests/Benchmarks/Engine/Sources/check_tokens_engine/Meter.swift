import Glibc

/// The clocks of the measurement.
enum Meter {
  /// User and system time of this process.
  static var processorSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// Monotonic time.
  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
