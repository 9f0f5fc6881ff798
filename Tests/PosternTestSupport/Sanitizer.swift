import Glibc

/// The sanitizer that the tests run under; it changes what the system does.
public enum Sanitizer {
  /// Whether there is one: `mlock` does nothing then.
  public static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
  /// How many threads it has in every process: ThreadSanitizer starts one.
  public static let threadCount = dlsym(nil, "__tsan_init") != nil ? 1 : 0
}
