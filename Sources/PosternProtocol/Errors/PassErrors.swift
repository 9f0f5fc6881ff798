public import PosternJSONRPC

/// The errors of `pass.*` (wire.md section 4.5).
extension RPCErrorCode {
  public static let passError = RPCErrorCode(6001, "pass_error", "Adobe Pass answered, and it was no success")
  public static let passUnreachable = RPCErrorCode(6002, "pass_unreachable", "Adobe Pass gave no usable answer")
  public static let passNotConfigured = RPCErrorCode(
    6003, "pass_not_configured", "No decision point of kind adobe-pass has that name")
}
