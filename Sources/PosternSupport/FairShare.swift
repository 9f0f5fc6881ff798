/// The share of one uid in what several have in common: at most three times what is still free. Whatever somebody
/// holds, and for how long, something is left for who has less (dynamic thresholds, as switches share their buffers).
public enum FairShare {
  /// So many times what is free.
  public static let times = 3

  /// Whether somebody who has `own` may have one more where so much is free; or, where things differ in size, whether
  /// `own` is not too much beside what it leaves free.
  public static func allows(_ own: Int, free: Int) -> Bool { free > 0 && own / times < free }
}
