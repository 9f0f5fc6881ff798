import Glibc

/// The sanitizer that the tests run under; it changes what the system does.
public enum Sanitizer {
  /// Whether there is one: `mlock` does nothing then, and it may have threads of its own.
  public static let isOn = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
