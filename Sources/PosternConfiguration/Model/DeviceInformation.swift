/// The members of `X-Device-Info`: which there are, and the values of those that have a closed set.
enum DeviceInformation {
  private static let maxBytes = 256

  private static let choices: [String: [String]] = [
    "primaryHardwareType": [
      "Camera", "DataCollectionTerminal", "Desktop", "EmbeddedNetworkModule", "eReader", "GamesConsole",
      "GeolocationTracker", "Glasses", "MediaPlayer", "MobilePhone", "PaymentTerminal", "PluginModem", "SetTopBox",
      "TV",
      "Tablet", "WirelessHotspot", "Wristwatch", "Unknown",
    ],
    "osName": [
      "Android", "Chrome OS", "Linux", "Mac OS", "OS X", "OpenBSD", "Roku OS", "Windows", "iOS", "tvOS", "webOS",
    ],
    "osFamily": [
      "Android", "BSD", "Linux", "PlayStation OS", "Roku OS", "Symbian", "Tizen", "Windows", "iOS", "tvOS", "macOS",
      "webOS",
    ],
  ]

  private static let others: Set<String> = [
    "applicationId", "browserName", "browserVendor", "browserVersion", "connectionIp", "connectionPort",
    "connectionSecure", "connectionType", "diagonalScreenSize", "displayHeight", "displayPpi", "displayWidth",
    "manufacturer", "model", "osVendor", "osVersion", "userAgent", "vendor", "version",
  ]

  /// Notes what is wrong with `given`. A member that nobody knows may be a newer one: it goes along with a warning.
  static func check(_ given: [String: String], _ keys: SectionReader) {
    let place = keys.path.key("deviceInfo")
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      if value.utf8.count > maxBytes {
        keys.context.problem("must be at most \(maxBytes) bytes", at: place.key(name))
      } else if let values = choices[name] {
        guard !values.contains(value) else { continue }
        keys.context.problem(Suggestion.message(for: value, among: values), at: place.key(name))
      } else if !others.contains(name) {
        let known = Suggestion.closest(to: name, among: others.union(choices.keys).sorted())
        let hint = known.map { "; did you mean \($0)?" } ?? ""
        keys.context.warn("is no known member of X-Device-Info, and is sent as it is\(hint)", at: place.key(name))
      }
    }
  }
}
