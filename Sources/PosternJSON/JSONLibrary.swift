import CPosternJansson

/// The library behind this module.
public enum JSONLibrary {
  /// jansson's version at run time.
  public static var version: String { String(cString: jansson_version_str()) }
}
