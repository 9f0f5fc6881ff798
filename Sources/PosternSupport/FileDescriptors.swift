import Glibc

/// The file descriptors of this process.
public enum FileDescriptors {
  /// Whether there is none left to be had (EMFILE, ENFILE).
  public static var areOut: Bool {
    // A number for it is looked for before the name is.
    let descriptor = open("/", O_RDONLY | O_CLOEXEC)
    guard descriptor < 0 else {
      close(descriptor)
      return false
    }
    return errno == EMFILE || errno == ENFILE
  }
}
