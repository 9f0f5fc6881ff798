/// The param `session` of calls: the handle that a login returned, or a word.
public enum SessionParam {
  /// The caller's only live session of the kind that the call needs: for programs whose uid is the user.
  public static let only = "only"
}
