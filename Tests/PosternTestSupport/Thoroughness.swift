import Glibc

/// How often a test repeats what is only more likely to find a fault when it is repeated. `make test-unit`, and so CI,
/// sets `POSTERN_THOROUGH`; `make test` does with a part of it.
public enum Thoroughness {
  /// Whether all repetitions are made.
  public static let isFull = getenv("POSTERN_THOROUGH") != nil

  /// The number of repetitions: `full` of them, or `usual` in a run that has to be quick.
  public static func repetitions(_ full: Int, usually usual: Int) -> Int { isFull ? full : usual }
}
